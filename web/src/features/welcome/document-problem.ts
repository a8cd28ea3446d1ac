/** A problem that the server put into the document, such as an expired link. */
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { Problem } from "@/api/problem";
import { safeReturnTo } from "./return-to";

export interface DocumentProblem {
  problem: Problem;
  /** What the user went to the provider for. */
  purpose: "sign_in" | "link" | "confirm";
  /** Where they wanted to go afterwards. */
  returnTo: string;
  /** Whether the browser is signed in nevertheless. */
  signedIn: boolean;
}

export function readDocumentProblem(page: Document = document): DocumentProblem | undefined {
  const content = page.querySelector<HTMLMetaElement>('meta[name="agio-problem"]')?.content;
  if (!content) return undefined;
  try {
    const { code, message, purpose, return_to, signed_in }: Record<string, unknown> = JSON.parse(content);
    if (typeof code !== "string" || typeof message !== "string") return undefined;
    return {
      problem: new Problem(code, message),
      purpose: purpose === "link" || purpose === "confirm" ? purpose : "sign_in",
      returnTo: safeReturnTo(typeof return_to === "string" ? return_to : undefined),
      signedIn: signed_in === true,
    };
  } catch {
    return undefined;
  }
}

/** As long as this document is open: signing in, and every way out of the page, loads another. */
const given = readDocumentProblem();

/** The problem; its address is replaced, so that a reload does not try again. */
export function useDocumentProblem(): DocumentProblem | undefined {
  const navigate = useNavigate();
  useEffect(() => {
    const search = given && given.returnTo !== "/" ? { return_to: given.returnTo } : {};
    if (given) void navigate({ to: "/sign-in", search, replace: true });
  }, [navigate]);
  return given;
}
