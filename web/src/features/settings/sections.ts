/** The parts of the settings, in the order they are listed. */
import { Info, KeyRound, type LucideIcon, Palette, Plug, ScrollText, UserRound, Users } from "lucide-react";
import type { ReactNode } from "react";
import type { Me } from "@/protocol/api";
import { AboutSection } from "./about-section";
import { ApiKeysSection } from "./api-keys/api-keys-section";
import { AppearanceSection } from "./appearance-section";
import { AuditSection } from "./audit-section";
import { MembersSection } from "./members/members-section";
import { ProfileSection } from "./profile/profile-section";
import { ProvidersSection } from "./providers/providers-section";

interface Section {
  id: string;
  label: string;
  icon: LucideIcon;
  /** Who sees the way to it. */
  isFor?: (me: Me) => boolean;
  Content: (props: { me: Me }) => ReactNode;
}

export const SECTIONS: Section[] = [
  { id: "providers", label: "Model providers", icon: Plug, Content: ProvidersSection },
  { id: "api-keys", label: "API keys", icon: KeyRound, Content: ApiKeysSection },
  { id: "members", label: "Team and members", icon: Users, Content: MembersSection },
  { id: "profile", label: "Profile", icon: UserRound, Content: ProfileSection },
  {
    id: "audit",
    label: "Audit log",
    icon: ScrollText,
    isFor: ({ permissions }) => permissions.includes("own"),
    Content: AuditSection,
  },
  { id: "appearance", label: "Appearance", icon: Palette, Content: AppearanceSection },
  { id: "about", label: "About", icon: Info, Content: AboutSection },
];
