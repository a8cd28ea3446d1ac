/** The clock of a replay: plays, pauses, goes faster, and jumps. */
import { useCallback, useEffect, useRef, useState } from "react";

export type Speed = 1 | 2 | 4 | "max";

/** At full speed a replay of any length takes about this long. */
const MAX_LASTS_MS = 1_500;

export interface Player {
  atMs: number;
  playing: boolean;
  speed: Speed;
  setSpeed: (speed: Speed) => void;
  toggle: () => void;
  seek: (ms: number) => void;
}

export function usePlayer(lengthMs: number): Player {
  const [atMs, setAt] = useState(0);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<Speed>(1);
  const length = useRef(lengthMs);
  length.current = lengthMs;

  useEffect(() => {
    if (!playing) return undefined;
    let before = performance.now();
    let frame = requestAnimationFrame(function advance(now) {
      const passed = now - before;
      before = now;
      const factor = speed === "max" ? Math.max(1, length.current / MAX_LASTS_MS) : speed;
      setAt((at) => Math.min(length.current, at + passed * factor));
      frame = requestAnimationFrame(advance);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing, speed]);

  const ended = atMs >= lengthMs;
  useEffect(() => {
    if (ended) setPlaying(false);
  }, [ended]);

  const toggle = useCallback(() => {
    setPlaying((was) => !was);
    setAt((at) => (at >= length.current ? 0 : at));
  }, []);
  const seek = useCallback((ms: number) => setAt(Math.max(0, Math.min(length.current, ms))), []);
  return { atMs: Math.min(atMs, lengthMs), playing: playing && !ended, speed, setSpeed, toggle, seek };
}
