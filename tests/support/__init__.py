"""What tests of several folders share. A server is started at one of three depths:

- `engine.py`: a gateway in this process, without a socket; `house.py` adds HTTP clients of its application.
- `served.py`: a gateway with a worker in this process, on a real socket.
- `process.py`: `agio` in processes of its own.
"""
