/** Makes another team and goes there. */
import { type ReactNode, useState } from "react";
import { useForm } from "react-hook-form";
import { switchTeam } from "@/api/browser-session";
import { api, data } from "@/api/client";
import { formProblem, placeProblems } from "@/api/form-problems";
import { useFresh } from "@/components/reauthentication";
import { Button } from "@/components/ui/button";
import { Actions, Dialog } from "@/components/ui/dialog";
import { Field, Input } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { isBlank } from "@/lib/blank";
import type { Me } from "@/protocol/api";

export function NewTeam({ me }: { me: Me }): ReactNode {
  const [open, setOpen] = useState(false);
  if (me.account === null)
    return (
      <p className="text-sm text-soft">
        Create an account in your profile first: you need one to switch teams.
      </p>
    );
  return (
    <>
      <Button onClick={() => setOpen(true)}>Create another team</Button>
      {open && (
        <Dialog
          open
          onClose={() => setOpen(false)}
          title="Create another team"
          description="You will own it. It shares nothing with this team."
        >
          <TeamNameForm onCancel={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  );
}

function TeamNameForm({ onCancel }: { onCancel: () => void }): ReactNode {
  const fresh = useFresh();
  const form = useForm({ defaultValues: { name: "" } });
  const make = form.handleSubmit(async ({ name }) => {
    try {
      const { tenant } = await fresh(() => data(api.POST("/api/tenants", { body: { name: name.trim() } })));
      await switchTeam(tenant);
    } catch (thrown) {
      placeProblems(thrown, form);
    }
  });
  const problem = formProblem(form);
  return (
    <form noValidate onSubmit={(event) => void make(event)} className="flex flex-col gap-4">
      {problem && <ProblemNote problem={problem} />}
      <Field label="Name" problem={form.formState.errors.name?.message}>
        {(control) => (
          <Input
            {...control}
            autoFocus
            maxLength={100}
            {...form.register("name", { validate: (name) => !isBlank(name) || "Enter a name." })}
          />
        )}
      </Field>
      <Actions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" busy={form.formState.isSubmitting}>
          Create and switch
        </Button>
      </Actions>
    </form>
  );
}
