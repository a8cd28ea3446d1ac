/** The page's socket as a context. */
import { createContext, type ReactNode, useContext, useEffect, useMemo, useSyncExternalStore } from "react";
import { Socket, type SocketState } from "./socket";

const Context = createContext<Socket | null>(null);

interface SocketProviderProps {
  /** Asked when the server turns the socket away: whether to try again. */
  mayReturn: () => Promise<boolean>;
  children: ReactNode;
}

/** Keeps one socket open as long as it is on the page. */
export function SocketProvider({ mayReturn, children }: SocketProviderProps): ReactNode {
  const socket = useMemo(() => new Socket({ mayReturn }), [mayReturn]);
  useEffect(() => {
    socket.open();
    return () => socket.close();
  }, [socket]);
  return <Context value={socket}>{children}</Context>;
}

export function useSocket(): Socket {
  const socket = useContext(Context);
  if (!socket) throw new Error("There is no SocketProvider above.");
  return socket;
}

/** Whether there is a connection, as it changes. */
export function useSocketState(): SocketState {
  const socket = useSocket();
  return useSyncExternalStore(socket.watch, () => socket.state);
}
