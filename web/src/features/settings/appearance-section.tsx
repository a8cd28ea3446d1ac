/** Light, dark, or as the system says: it is seen at once. */
import { type LucideIcon, Monitor, Moon, Sun } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Card, Page } from "@/components/ui/page";
import { cx } from "@/lib/class-names";
import { storedTheme, storeTheme, type Theme } from "@/lib/theme";

const THEMES: { theme: Theme; title: string; words: string; icon: LucideIcon }[] = [
  { theme: "system", title: "System", words: "Follow this device", icon: Monitor },
  { theme: "light", title: "Light", words: "Dark on white", icon: Sun },
  { theme: "dark", title: "Dark", words: "Light on black", icon: Moon },
];
/** A theme's sample has its own colours, independent of the page's. */
const SCHEMES = { system: "light dark", light: "light", dark: "dark" } as const;

export function AppearanceSection(): ReactNode {
  const [chosen, setChosen] = useState(storedTheme);
  const choose = (theme: Theme) => {
    storeTheme(theme);
    setChosen(theme);
  };
  return (
    <Page title="Appearance" description="Saved in this browser.">
      <Card>
        <fieldset>
          <legend className="mb-3 text-sm font-semibold">Colours</legend>
          <div className="grid gap-3 sm:grid-cols-3">
            {THEMES.map(({ theme, title, words, icon: Icon }) => (
              <label
                key={theme}
                className={cx(
                  "cursor-pointer rounded-xl border p-3 transition-colors has-focus-visible:outline-2 has-focus-visible:outline-accent",
                  chosen === theme ? "border-accent bg-accent-soft" : "border-line hover:bg-hover",
                )}
              >
                <input
                  type="radio"
                  name="theme"
                  value={theme}
                  checked={chosen === theme}
                  onChange={() => choose(theme)}
                  className="sr-only"
                />
                <Sample theme={theme} />
                <span className="mt-3 flex items-center gap-2 text-sm font-medium">
                  <Icon className="size-4" aria-hidden /> {title}
                </span>
                <span className="text-[0.8125rem] text-soft">{words}</span>
              </label>
            ))}
          </div>
        </fieldset>
      </Card>
    </Page>
  );
}

/** A chat in small, in the colours of a theme. */
function Sample({ theme }: { theme: Theme }): ReactNode {
  const colour = (light: string, dark: string) => ({ background: `light-dark(${light}, ${dark})` });
  return (
    <span
      aria-hidden
      className="flex h-20 overflow-hidden rounded-lg border border-line"
      style={{ colorScheme: SCHEMES[theme], ...colour("#ffffff", "#141517") }}
    >
      <span className="h-full w-1/4" style={colour("#f0f0ed", "#212427")} />
      <span className="flex flex-1 flex-col gap-1.5 p-2.5">
        <span className="h-2 w-1/2 self-end rounded-full" style={colour("#0f766e", "#2dd4bf")} />
        <span className="h-2 w-4/5 rounded-full" style={colour("#d7d7d2", "#3a3f44")} />
        <span className="h-2 w-3/5 rounded-full" style={colour("#d7d7d2", "#3a3f44")} />
      </span>
    </span>
  );
}
