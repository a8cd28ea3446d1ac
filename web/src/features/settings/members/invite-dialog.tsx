/** Creates an invitation, and shows its link once. */
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useForm } from "react-hook-form";
import { api, data } from "@/api/client";
import { ERROR_DELAY_MS, formProblem, placeProblems } from "@/api/form-problems";
import { invitationsQuery } from "@/api/team-queries";
import { useFresh } from "@/components/reauthentication";
import { Button } from "@/components/ui/button";
import { Actions, Dialog } from "@/components/ui/dialog";
import { Field, Input, Select } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { formatMoment } from "@/lib/format";
import type { Me, NewInvitation } from "@/protocol/api";
import { ShownOnce } from "../shown-once";
import { ROLES, type Role, rolesToGive } from "./role-rules";

const MAX_DAYS = 30;

export function InviteDialog({ me, onClose }: { me: Me; onClose: () => void }): ReactNode {
  const [made, setMade] = useState<NewInvitation>();
  if (!made)
    return (
      <Dialog
        open
        onClose={onClose}
        title="Invite a member"
        description="You get a link to send yourself. agio never sends email."
      >
        <InviteForm me={me} onMade={setMade} onCancel={onClose} />
      </Dialog>
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title="Send this link"
      description={`It works only once, for ${made.email ?? "anyone who has it"}, and expires on ${formatMoment(made.expires_at)}. It cannot be shown again.`}
    >
      <ShownOnce label="Invitation" text={`${location.origin}${made.path}`} />
      <Actions>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </Actions>
    </Dialog>
  );
}

interface InviteFormProps {
  me: Me;
  onMade: (invitation: NewInvitation) => void;
  onCancel: () => void;
}

function InviteForm({ me, onMade, onCancel }: InviteFormProps): ReactNode {
  const queryClient = useQueryClient();
  const fresh = useFresh();
  const form = useForm<{ email: string; role: Role; expires_in_days: number }>({
    mode: "onTouched",
    delayError: ERROR_DELAY_MS,
    defaultValues: { email: "", role: "member", expires_in_days: 7 },
  });
  const { errors, isSubmitting } = form.formState;
  const invite = form.handleSubmit(async ({ email, ...rest }) => {
    const body = { email: email.trim() || null, ...rest };
    try {
      const invitation = await fresh(() => data(api.POST("/api/invitations", { body })));
      await queryClient.invalidateQueries(invitationsQuery);
      onMade(invitation);
    } catch (thrown) {
      placeProblems(thrown, form, { invalid_email: "email" });
    }
  });
  const problem = formProblem(form);
  const role = form.watch("role");
  return (
    <form noValidate onSubmit={(event) => void invite(event)} className="flex flex-col gap-4">
      {problem && <ProblemNote problem={problem} />}
      <Field
        label="Email"
        optional
        hint="Only this address can use the link. Leave empty to let anyone with the link join."
        problem={errors.email?.message}
      >
        {(control) => (
          <Input
            {...control}
            autoFocus
            type="email"
            autoComplete="off"
            maxLength={254}
            {...form.register("email", {
              validate: (email) =>
                email.trim() === "" ||
                /^\S+@\S+$/.test(email.trim()) ||
                "Enter an address such as zoe@example.com.",
            })}
          />
        )}
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label="Role"
          hint={ROLES.find((one) => one.role === role)?.words}
          problem={errors.role?.message}
        >
          {(control) => (
            <Select {...control} {...form.register("role")}>
              {rolesToGive(me).map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label="Valid for (days)" hint="Up to 30." problem={errors.expires_in_days?.message}>
          {(control) => (
            <Input
              {...control}
              type="number"
              min={1}
              max={MAX_DAYS}
              {...form.register("expires_in_days", {
                valueAsNumber: true,
                validate: (days) =>
                  (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) ||
                  `A whole number from 1 to ${MAX_DAYS}.`,
              })}
            />
          )}
        </Field>
      </div>
      <Actions>
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" busy={isSubmitting}>
          Create link
        </Button>
      </Actions>
    </form>
  );
}
