/** The parts of the settings, in the order they are listed. */
import {
  Activity,
  Blocks,
  Info,
  KeyRound,
  type LucideIcon,
  Palette,
  Plug,
  ScrollText,
  UserRound,
  Users,
} from "lucide-react";
import { type ComponentType, lazy } from "react";
import type { Permission } from "@/components/access";
import type { Me } from "@/protocol/api";
import { AboutSection } from "./about-section";
import { ApiKeysSection } from "./api-keys/api-keys-section";
import { AppearanceSection } from "./appearance-section";
import { AuditSection } from "./audit-section";
import { MembersSection } from "./members/members-section";
import { ObservabilitySection } from "./observability-section";
import { ProfileSection } from "./profile/profile-section";
import { ProvidersSection } from "./providers/providers-section";

export interface Section {
  id: string;
  label: string;
  icon: LucideIcon;
  needs: Permission;
  Content: ComponentType<{ me: Me }>;
}

const McpSection = lazy(async () => ({ default: (await import("./mcp/mcp-section")).McpSection }));

export const SECTIONS: Section[] = [
  { id: "providers", label: "Model providers", icon: Plug, needs: "build", Content: ProvidersSection },
  { id: "mcp-servers", label: "MCP servers", icon: Blocks, needs: "use", Content: McpSection },
  { id: "api-keys", label: "API keys", icon: KeyRound, needs: "use", Content: ApiKeysSection },
  { id: "members", label: "Team and members", icon: Users, needs: "manage", Content: MembersSection },
  {
    id: "observability",
    label: "Observability",
    icon: Activity,
    needs: "build",
    Content: ObservabilitySection,
  },
  { id: "profile", label: "Profile", icon: UserRound, needs: "use", Content: ProfileSection },
  { id: "audit", label: "Audit log", icon: ScrollText, needs: "own", Content: AuditSection },
  { id: "appearance", label: "Appearance", icon: Palette, needs: "use", Content: AppearanceSection },
  { id: "about", label: "About", icon: Info, needs: "use", Content: AboutSection },
];
