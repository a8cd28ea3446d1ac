/** Tells the tabs of this browser that somebody proved anew, at a provider, who they are. */
const CHANNEL = "agio.confirmed";

export function tellConfirmed(): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(null);
  channel.close();
}

/** Calls a listener whenever another tab tells it; returns how to stop. */
export function onConfirmed(listener: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = listener;
  return () => channel.close();
}
