/** Parts of a turn that few turns have: they load once the chat is shown, before anybody needs them. */
import { lazy } from "react";

const LOADS = {
  approval: () => import("./approval-card"),
  edit: () => import("./edit-message"),
  versions: () => import("./branch-switch"),
  models: () => import("./other-models"),
  remember: () => import("./remember-message"),
  suggested: () => import("../suggested-memories"),
  suggestions: () => import("../suggestions-reader"),
  branching: () => import("../branching"),
};

export const ApprovalCard = lazy(async () => ({ default: (await LOADS.approval()).ApprovalCard }));
export const EditMessage = lazy(async () => ({ default: (await LOADS.edit()).EditMessage }));
export const BranchSwitch = lazy(async () => ({ default: (await LOADS.versions()).BranchSwitch }));
export const OtherModels = lazy(async () => ({ default: (await LOADS.models()).OtherModels }));
export const RememberMessage = lazy(async () => ({ default: (await LOADS.remember()).RememberMessage }));
export const SuggestedMemories = lazy(async () => ({
  default: (await LOADS.suggested()).SuggestedMemories,
}));
export const SuggestionsReader = lazy(async () => ({
  default: (await LOADS.suggestions()).SuggestionsReader,
}));
export const { branching } = LOADS;

/** Loads them now. What fails is tried again when it is needed. */
export function loadLater(): void {
  for (const load of Object.values(LOADS)) load().catch(() => undefined);
}
