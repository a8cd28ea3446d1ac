"""What agio tests itself with, for your tests too: a model server that speaks every wire format, with faults."""
