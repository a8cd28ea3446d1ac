/** What somebody can do about a run that failed, by its code. */

/** Said of a run whose own words nobody kept, before its code and the advice. */
export const UNTOLD_FAILURE = "The run failed.";

const ADVICE: Record<string, string> = {
  connection_failed: "Check the provider's address and the network, then send the message again.",
  rate_limited: "Too many calls in a short time. Wait a moment, or ask the provider for a higher limit.",
  quota_exceeded: "The provider's credit is used up. Top it up, or use another key.",
  model_overloaded: "The provider has no room right now. Try again later, or choose another model.",
  model_unavailable: "The provider has trouble right now. Try again later.",
  invalid_api_key: "Correct the provider's key in the settings.",
  missing_api_key: "Enter a key for the provider in the settings.",
  permission_denied: "The provider's key may not use this model. Ask for access, or choose another model.",
  model_not_found: "Correct the name of the model in the agent, or the provider's address.",
  bad_request: "The provider refused the request; its words are above.",
  context_too_long: "The chat is longer than the model takes. Begin a new chat.",
  request_too_large: "The message is too large for the provider. Send smaller images or files.",
  prompt_too_large: "The newest message does not fit into the model's context. Send less.",
  stream_broken: "The answer broke off more often than it is tried again. Send the message again.",
  invalid_response:
    "The provider's answer could not be read. Check that its address speaks the chosen format.",
  first_token_timeout: "The model did not begin to answer in time. Try again, or allow it more time.",
  idle_timeout: "The model fell silent in the middle of its answer. Try again.",
  turn_timeout: "The model took too long to answer. Ask for less at once, or allow it more time.",
  step_limit:
    "The agent used up its steps. Raise its limit, or see in the waterfall where it goes in circles.",
  token_budget: "The agent's token limit leaves no room for an answer. Raise it, or ask for less at once.",
  turn_too_large: "The model did not stop answering. Choose another model, or limit the size of its answers.",
  run_too_large: "The run wrote more than a run may. Ask for less at once.",
  time_budget: "The run took longer than it may. Raise the agent's limit, or ask for less at once.",
  bad_tool_arguments: "The model called a tool wrongly too often. Describe the tool's parameters better.",
  output_invalid: "The answer did not fit the agent's output schema. Simplify it, or use a stronger model.",
  unknown_provider: "The agent's provider is not there any more. Choose another in the agent.",
  demo_failure: "The demo model fails when it is asked to. Nothing has to be done.",
};

export function adviceFor(code: string): string | null {
  return ADVICE[code] ?? null;
}
