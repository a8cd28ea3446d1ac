/** What the tests of the pages need before they run. */
import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

// What is waited for comes; how soon is the machine's affair.
configure({ asyncUtilTimeout: 30_000 });
afterEach(cleanup);
