/** Advice for a failed run, by its error code. */

/** For a failed run without a message of its own, before its code and the advice. */
export const UNKNOWN_FAILURE = "The run failed.";

const ADVICE: Record<string, string> = {
  connection_failed: "Check the provider's address and the network, then send the message again.",
  rate_limited: "Too many calls in a short time. Wait a moment, or ask the provider for a higher limit.",
  quota_exceeded: "The provider's credit is used up. Top it up, or use another key.",
  model_overloaded: "The provider is overloaded. Try again later, or choose another model.",
  model_unavailable: "The provider has a problem. Try again later.",
  invalid_api_key: "Correct the provider's key in the settings.",
  missing_provider_key: "Enter a key for the provider in the settings.",
  permission_denied:
    "The provider's key has no access to this model. Request access, or choose another model.",
  model_not_found: "Correct the name of the model in the agent, or the provider's address.",
  bad_request: "The provider rejected the request; its message is above.",
  context_too_long: "The chat is longer than the model's context. Start a new chat.",
  request_too_large: "The message is too large for the provider. Send smaller images or files.",
  prompt_too_large: "The newest message does not fit into the model's context. Send less.",
  stream_broken: "The connection dropped too often during the answer. Send the message again.",
  invalid_response:
    "The provider's answer could not be read. Check that its address matches the selected kind.",
  first_token_timeout: "The model did not start answering in time. Try again, or raise the timeout.",
  idle_timeout: "The model stopped responding during its answer. Try again.",
  turn_timeout: "The model took too long to answer. Ask for less at once, or raise the timeout.",
  step_limit: "The agent used up its steps. Raise its limit, or check the waterfall for a loop.",
  token_budget: "The agent's token limit leaves no room for an answer. Raise it, or ask for less at once.",
  turn_too_large: "The model did not stop answering. Choose another model, or limit the size of its answers.",
  run_too_large: "The run exceeded the output limit. Ask for less at once.",
  time_budget: "The run exceeded its time limit. Raise the limit, or ask for less at once.",
  bad_tool_arguments:
    "The model sent invalid tool arguments too often. Describe the tool's parameters better.",
  output_invalid:
    "The answer did not match the agent's output schema. Simplify the schema, or use a stronger model.",
  unknown_provider: "The agent's provider was removed. Choose another one in the agent.",
  demo_failure: "The demo model failed as requested. No action needed.",
};

export function adviceFor(code: string): string | null {
  return ADVICE[code] ?? null;
}
