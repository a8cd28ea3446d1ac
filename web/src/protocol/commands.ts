/** What the browser says over `/realtime`, and what it hears. */
import type { ContentPart, Event } from "./events";

export type Content = string | ContentPart[];

export interface Answer {
  interrupt_id: string;
  approved: boolean;
  reason?: string;
  edited_args?: Record<string, unknown>;
  /** What a tool asked for. */
  content?: Record<string, unknown>;
}

export type Command =
  | {
      type: "message";
      content: Content;
      session_id?: string;
      agent_id?: string;
      client_message_id?: string;
      /** The message it replaces, on a branch of its own. */
      copy_of?: string;
      on_busy?: "refuse" | "steer";
    }
  | { type: "subscribe"; session_id: string; after?: number }
  | { type: "unsubscribe"; session_id: string }
  | { type: "cancel"; session_id?: string; run_id?: string }
  | { type: "approve"; session_id: string; answers: Answer[] }
  | { type: "ping" };

export interface Ack {
  type: "ack";
  id: string;
  session_id?: string;
  run_id?: string;
  message_id?: string;
  repeated?: boolean;
  after?: number;
}

export interface Problem {
  code: string;
  message: string;
  details?: Record<string, unknown>;
}

export type Heard =
  | Ack
  | { type: "pong"; id: string }
  | { type: "events"; session_id: string; pos: number; events: Event[] }
  | { type: "deleted"; session_id: string }
  | { type: "error"; id?: string; error: Problem };
