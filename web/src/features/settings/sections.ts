/** The parts of the settings, in the order they are listed. */
import { type LucideIcon, Plug } from "lucide-react";
import type { ReactNode } from "react";
import type { Me } from "@/protocol/api";
import { ProvidersSection } from "./providers/providers-section";

export interface Section {
  id: string;
  label: string;
  icon: LucideIcon;
  /** Who sees the way to it. */
  isFor?: (me: Me) => boolean;
  Content: (props: { me: Me }) => ReactNode;
}

export const SECTIONS: Section[] = [
  { id: "providers", label: "Model providers", icon: Plug, Content: ProvidersSection },
];
