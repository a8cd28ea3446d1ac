/** The run as it looked while it went, at the speed of the clock or faster. */
import { Pause, Play, RotateCcw } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { ReadOnlyTurn } from "@/components/turn/read-only-turn";
import { Button } from "@/components/ui/button";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Switch } from "@/components/ui/switch";
import { cx } from "@/lib/class-names";
import { formatDuration } from "@/lib/format";
import { ShownTime } from "@/lib/use-now";
import type { ToolExecutionView } from "@/protocol/api";
import type { LogState } from "../run-log";
import { countAt, Film, framesOf, timesOf } from "./replay";
import { type Player, type Speed, usePlayer } from "./use-player";

const SPEEDS: { speed: Speed; word: string }[] = [
  { speed: 1, word: "1×" },
  { speed: 2, word: "2×" },
  { speed: 4, word: "4×" },
  { speed: "max", word: "Max" },
];

export function ReplayTab({ log, calls }: { log: LogState; calls: ToolExecutionView[] }): ReactNode {
  const [shorten, setShorten] = useState(true);
  const toolNames = useMemo(() => new Map(calls.map((call) => [call.key, call.tool])), [calls]);
  const frames = useMemo(() => framesOf(log.events, toolNames), [log.events, toolNames]);
  const film = useMemo(() => new Film(frames), [frames]);
  const times = useMemo(() => timesOf(frames, shorten), [frames, shorten]);
  const player = usePlayer(times.at(-1) ?? 0);
  useSpace(player.toggle);
  const count = countAt(times, player.atMs);
  const thread = useMemo(() => film.after(count), [film, count]);
  const changeShorten = (next: boolean) => {
    setShorten(next);
    player.seek(timesOf(frames, next)[Math.max(0, count - 1)] ?? 0);
  };
  if (frames.length === 0)
    return log.phase === "loading" ? (
      <SkeletonRows rows={4} />
    ) : (
      <p className="py-6 text-sm text-soft">Nothing to replay yet.</p>
    );
  return (
    <div>
      <Controls player={player} lengthMs={times.at(-1) ?? 0} count={count} all={frames.length}>
        <Switch label="Shorten pauses over 3 s" checked={shorten} onChange={changeShorten} />
      </Controls>
      <div className="mx-auto flex max-w-3xl flex-col gap-4 pt-6">
        <ShownTime value={frames[count - 1]?.timestamp ?? null}>
          {thread.turns.map((turn) => (
            <ReadOnlyTurn key={turn.runId} turn={turn} unfolded paused={!player.playing} />
          ))}
        </ShownTime>
      </div>
    </div>
  );
}

interface ControlsProps {
  player: Player;
  lengthMs: number;
  count: number;
  all: number;
  children: ReactNode;
}

function Controls({ player, lengthMs, count, all, children }: ControlsProps): ReactNode {
  const { atMs, playing } = player;
  const ended = atMs >= lengthMs && count === all;
  const words = `${formatDuration(atMs)} of ${formatDuration(lengthMs)}`;
  return (
    <section
      aria-label="Replay"
      className="sticky top-0 z-10 flex flex-col gap-3 rounded-2xl border border-line bg-raised p-3 shadow-sm sm:p-4"
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-3">
        <Button look="primary" onClick={player.toggle} aria-keyshortcuts="Space" className="w-28">
          <PlayIcon playing={playing} ended={ended} />
          {playing ? "Pause" : ended ? "Again" : "Play"}
        </Button>
        <fieldset className="flex rounded-lg border border-line p-0.5">
          <legend className="sr-only">Speed</legend>
          {SPEEDS.map(({ speed, word }) => (
            <button
              key={speed}
              type="button"
              aria-pressed={player.speed === speed}
              onClick={() => player.setSpeed(speed)}
              className={cx(
                "h-7 rounded-md px-2.5 text-[0.8125rem] tabular-nums",
                player.speed === speed
                  ? "bg-accent-soft font-medium text-accent-text"
                  : "text-soft hover:text-ink",
              )}
            >
              {word}
            </button>
          ))}
        </fieldset>
        {children}
        <span className="ml-auto text-[0.8125rem] text-soft tabular-nums">{words}</span>
      </div>
      <input
        type="range"
        aria-label="Time"
        aria-valuetext={`${words}, event ${count} of ${all}`}
        min={0}
        max={Math.max(1, Math.ceil(lengthMs))}
        step="any"
        value={atMs}
        onChange={(event) => player.seek(event.target.valueAsNumber)}
        onKeyDown={(event) => {
          const by = {
            ArrowRight: 0.02,
            ArrowUp: 0.02,
            ArrowLeft: -0.02,
            ArrowDown: -0.02,
            PageUp: 0.1,
            PageDown: -0.1,
          }[event.key];
          if (by === undefined) return;
          event.preventDefault();
          player.seek(atMs + by * lengthMs);
        }}
        className="w-full accent-accent"
      />
    </section>
  );
}

function PlayIcon({ playing, ended }: { playing: boolean; ended: boolean }): ReactNode {
  if (playing) return <Pause className="size-4" aria-hidden />;
  return ended ? <RotateCcw className="size-4" aria-hidden /> : <Play className="size-4" aria-hidden />;
}

/** The space bar plays and pauses, where it has no other meaning. */
function useSpace(act: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key !== " " || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey)
        return;
      if (event.target instanceof Element && event.target.closest(TAKES_SPACE)) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [act]);
}

const TAKES_SPACE = 'button, a, summary, select, textarea, input:not([type="range"]), [contenteditable]';
