/** Adds or changes a model provider, which can be tried before it is kept. */

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useForm } from "react-hook-form";
import { api, data } from "@/api/client";
import { ERROR_DELAY_MS, formProblem, placeProblems } from "@/api/form-problems";
import { ifMatch, isOvertaken } from "@/api/if-match";
import { problemOf } from "@/api/problem";
import { providersQuery } from "@/api/queries";
import { OvertakenNote } from "@/components/overtaken-note";
import { Button } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Actions, Dialog } from "@/components/ui/dialog";
import { Field, Input, Select, Textarea } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { allowAdvice } from "@/lib/allow-advice";
import { KINDS } from "@/lib/providers";
import type { ProviderView } from "@/protocol/api";
import { AddressNote } from "./address-note";
import { ConnectionResult, runTrial, type Trial } from "./connection-result";
import { KeyField } from "./key-field";
import { ModelPicker } from "./model-picker";
import { Presets } from "./presets";
import {
  bodyOf,
  connectionOf,
  EMPTY,
  isNearby,
  isSameConnection,
  modelsOf,
  modelsProblem,
  nameProblem,
  offeredOf,
  type Preset,
  type ProviderValues,
  toggleModel,
  urlProblem,
  usesKeptKey,
  valuesOf,
} from "./provider-form";

interface ProviderDialogProps {
  /** The one to change; without it a new one is added. */
  provider?: ProviderView | undefined;
  preset?: Preset | undefined;
  onClose: () => void;
  onSaved: (provider: ProviderView) => void;
}

const PLACES = {
  provider_exists: "name",
  invalid_base_url: "baseUrl",
  missing_provider_key: "apiKey",
} as const;
const KEY_AGAIN =
  "The address changed: enter the key again, or leave it empty if none is needed. A key is only sent to the address it was entered for.";

export function ProviderDialog(props: ProviderDialogProps): ReactNode {
  const { preset, onClose, onSaved } = props;
  const [provider, setProvider] = useState(props.provider);
  const queryClient = useQueryClient();
  const confirm = useConfirm();
  const form = useForm<ProviderValues>({
    mode: "onTouched",
    delayError: ERROR_DELAY_MS,
    defaultValues: provider ? valuesOf(provider) : { ...EMPTY, ...preset?.values },
  });
  const [trial, setTrial] = useState<Trial>();
  const [tried, setTried] = useState("");
  const [seen, setSeen] = useState(provider?.updated_at);
  const overtaken = provider?.updated_at !== seen;
  const { errors, isSubmitting, isDirty } = form.formState;
  const values = form.watch();
  const kind = KINDS.find((one) => one.kind === values.kind);
  const offered = trial?.state === "done" && tried === placeOf(values) ? offeredOf(trial.test.models) : [];

  const fill = (chosen: Preset) => {
    for (const name of ["kind", "name", "baseUrl"] as const)
      form.setValue(name, chosen.values[name], { shouldDirty: true, shouldValidate: true });
    setTrial(undefined);
  };
  const close = async () => {
    const lost = {
      title: "Discard your changes?",
      message: "They have not been saved.",
      action: "Discard",
    };
    if (!isDirty || (await confirm({ ...lost, danger: true }))) onClose();
  };
  const tryIt = async () => {
    if (!(await form.trigger(["name", "baseUrl", "apiKey"], { shouldFocus: true }))) return;
    const model = modelsOf(values.models)[0];
    const id = provider?.id;
    form.clearErrors("root");
    setTried(placeOf(values));
    await runTrial(
      model,
      () =>
        id && isSameConnection(values, provider)
          ? data(
              api.POST("/api/providers/{provider_id}/test", {
                params: { path: { provider_id: id } },
                body: { model: model ?? null },
              }),
            )
          : data(api.POST("/api/providers/test", { body: connectionOf(values, model ?? null) })),
      setTrial,
    );
  };
  const readTheirs = async (id: string) => {
    try {
      const params = { path: { provider_id: id } };
      setProvider(await data(api.GET("/api/providers/{provider_id}", { params })));
      await queryClient.invalidateQueries(providersQuery);
    } catch (thrown) {
      placeProblems(thrown, form);
    }
  };
  const save = form.handleSubmit(async (entered) => {
    const body = bodyOf(entered);
    try {
      const id = provider?.id;
      const saved = id
        ? await data(
            api.PUT("/api/providers/{provider_id}", {
              params: { path: { provider_id: id }, header: ifMatch(provider?.updated_at) },
              body,
            }),
          )
        : await data(api.POST("/api/providers", { body }));
      await queryClient.invalidateQueries(providersQuery);
      onSaved(saved);
    } catch (thrown) {
      if (provider?.id && isOvertaken(thrown)) await readTheirs(provider.id);
      else if (problemOf(thrown).code === "api_key_required") {
        form.setValue("keyChoice", "replace");
        form.setError("apiKey", { message: KEY_AGAIN });
      } else placeProblems(thrown, form, PLACES);
    }
  });
  const problem = formProblem(form);
  const needsSaving = usesKeptKey(values, provider) && !isSameConnection(values, provider);
  return (
    <Dialog
      open
      wide
      onClose={() => void close()}
      title={provider ? `Edit ${provider.name}` : "Connect a model"}
      description="Your team's agents refer to it by this name."
    >
      <form noValidate onSubmit={(event) => void save(event)} className="flex flex-col gap-4">
        {!provider && <Presets values={values} onChoose={fill} />}
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Kind" hint={kind?.words} problem={errors.kind?.message}>
            {(control) => (
              <Select {...control} {...form.register("kind")}>
                {KINDS.map((one) => (
                  <option key={one.kind} value={one.kind}>
                    {one.title}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          <Field label="Name" hint="Such as openai or office-llm." problem={errors.name?.message}>
            {(control) => (
              <Input
                {...control}
                maxLength={64}
                autoFocus
                autoComplete="off"
                spellCheck={false}
                {...form.register("name", { validate: (name) => nameProblem(name) ?? true })}
              />
            )}
          </Field>
        </div>
        <Field
          label="Base URL"
          optional={values.kind !== "openai-chat"}
          hint={`Default: ${kind?.address}`}
          problem={errors.baseUrl?.message}
        >
          {(control) => (
            <Input
              {...control}
              inputMode="url"
              maxLength={2000}
              autoComplete="off"
              spellCheck={false}
              placeholder={kind?.address}
              className="font-mono text-[0.8125rem]"
              {...form.register("baseUrl", { validate: (url) => urlProblem(url) ?? true })}
            />
          )}
        </Field>
        <AddressNote url={values.baseUrl} />
        <KeyField form={form} provider={provider} />
        <Field
          label="Models"
          hint="One per line. The first is used for testing. Not sure? Leave it empty and test: most services list their models."
          problem={errors.models?.message}
        >
          {(control) => (
            <Textarea
              {...control}
              rows={2}
              spellCheck={false}
              className="min-h-16 font-mono text-[0.8125rem]"
              {...form.register("models", { validate: (models) => modelsProblem(models) ?? true })}
            />
          )}
        </Field>
        {offered.length > 0 && (
          <ModelPicker
            offered={offered}
            chosen={modelsOf(values.models)}
            onToggle={(model) =>
              form.setValue("models", toggleModel(form.getValues("models"), model), {
                shouldDirty: true,
                shouldValidate: true,
              })
            }
          />
        )}
        <ConnectionResult trial={trial} />
        {provider && overtaken && (
          <OvertakenNote what="provider">
            <Button
              size="small"
              onClick={() => {
                form.reset(valuesOf(provider));
                setSeen(provider.updated_at);
              }}
            >
              Discard my changes
            </Button>
          </OvertakenNote>
        )}
        {problem && (
          <div>
            <ProblemNote problem={problem} />
            {problem.code === "egress_refused" && !isNearby(values.baseUrl) && (
              <p className="px-1 text-sm text-soft">{allowAdvice(values.baseUrl)}</p>
            )}
          </div>
        )}
        {needsSaving && (
          <p className="text-[0.8125rem] text-soft">
            The kind changed: save first to test with the stored key, or enter the key again.
          </p>
        )}
        <div className="sticky -bottom-5 -mx-5 -mb-5 border-t border-line bg-raised px-5 pb-5">
          <Actions>
            <Button
              className="w-full sm:mr-auto sm:w-auto"
              busy={trial?.state === "trying"}
              disabled={needsSaving}
              onClick={() => void tryIt()}
            >
              Test connection
            </Button>
            <Button onClick={() => void close()}>Cancel</Button>
            <Button type="submit" look="primary" busy={isSubmitting}>
              {provider ? "Save" : "Add"}
            </Button>
          </Actions>
        </div>
      </form>
    </Dialog>
  );
}

/** What a trial was of: the models of one service are not offered for another. */
function placeOf({ kind, baseUrl }: ProviderValues): string {
  return `${kind} ${baseUrl.trim()}`;
}
