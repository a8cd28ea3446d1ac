/** Reports to the tabs of this browser that the user confirmed their identity at a provider. */
const CHANNEL = "agio.confirmed";

export function tellConfirmed(): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(null);
  channel.close();
}

/** Calls a listener when another tab reports it; returns how to stop. */
export function onConfirmed(listener: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = listener;
  return () => channel.close();
}
