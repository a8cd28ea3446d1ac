import { expect, test } from "vitest";
import { allowSetting } from "./allow-setting";

test.each([
  ["http://127.0.0.1:11434/v1", "AGIO_EGRESS_ALLOW=127.0.0.1:11434"],
  [" https://wiki.corp/{page} ", "AGIO_EGRESS_ALLOW=wiki.corp:443"],
  ["http://[::1]/x", "AGIO_EGRESS_ALLOW=[::1]:80"],
  ["wiki", null],
  ["", null],
])("what opens %j is %j", (url, setting) => expect(allowSetting(url)).toBe(setting));
