/** What an unfolded tool card shows: the arguments, what a person said, and the result. It loads when it is needed. */
import type { ReactNode } from "react";
import { JsonView } from "@/components/json/json-view";
import type { CallPart } from "@/state/thread";
import { ResultView } from "./result-view";

export function ToolDetails({ call, failed }: { call: CallPart; failed: boolean }): ReactNode {
  const changed = call.answer?.editedArgs;
  return (
    <>
      <Labelled label={changed ? "Requested arguments" : "Arguments"}>
        <JsonView text={call.args || "{}"} label="Arguments" />
      </Labelled>
      {changed && (
        <Labelled label="Arguments used">
          <JsonView text={JSON.stringify(changed)} label="Changed arguments" />
        </Labelled>
      )}
      {call.answer?.reason && (
        <Labelled label="Reason">
          <p className="text-sm whitespace-pre-wrap wrap-anywhere">{call.answer.reason}</p>
        </Labelled>
      )}
      {call.result !== null && (
        <Labelled label={failed ? "Error" : "Result"}>
          <ResultView result={call.result} failed={failed} />
        </Labelled>
      )}
    </>
  );
}

function Labelled({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    <div className="flex flex-col gap-1.5">
      <div className="text-xs font-medium text-soft">{label}</div>
      {children}
    </div>
  );
}
