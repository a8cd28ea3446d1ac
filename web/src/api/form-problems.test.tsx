import { act, renderHook } from "@testing-library/react";
import { useForm } from "react-hook-form";
import { expect, test } from "vitest";
import { formProblem, placeProblems } from "./form-problems";
import { Problem } from "./problem";

function useShownForm() {
  const form = useForm({ defaultValues: { email: "", name: "" } });
  // Reading the errors is what makes the form tell of them.
  return { form, errors: form.formState.errors, problem: formProblem(form) };
}

function placed(problem: Problem, byCode: { [code: string]: "email" | "name" } = {}) {
  const { result } = renderHook(useShownForm);
  act(() => placeProblems(problem, result.current.form, byCode));
  return result.current;
}

test("a code that is about a field is told there, in the server's words", () => {
  const { errors, problem } = placed(new Problem("email_taken", "There is one."), { email_taken: "email" });
  expect(errors.email?.message).toBe("There is one.");
  expect(problem).toBeUndefined();
});

test("fields the server names get what it says of them", () => {
  const fields = [{ path: "name", problem: "too long" }];
  const { errors, problem } = placed(new Problem("invalid_body", "No.", 422, { fields }));
  expect(errors.name?.message).toBe("too long");
  expect(problem).toBeUndefined();
});

test("what is about no field of the form is the form's own problem, with its code", () => {
  const fields = [{ path: "other", problem: "missing" }];
  for (const refused of [new Problem("forbidden", "No."), new Problem("forbidden", "No.", 422, { fields })])
    expect(placed(refused).problem).toMatchObject({ code: "forbidden", message: "No." });
});
