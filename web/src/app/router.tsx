/** Which address shows what. Each page is loaded when it is first gone to. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { Needs } from "@/components/access";
import { NotFound } from "./not-found";
import { PageError } from "./page-error";
import { PageLoading } from "./page-loading";
import { SignedIn } from "./signed-in";

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (search: Record<string, unknown>): { return_to?: string } =>
    typeof search.return_to === "string" ? { return_to: search.return_to } : {},
  component: lazyRouteComponent(() => import("@/features/welcome/sign-in-page"), "SignInPage"),
});
/** Where a failed sign-in at a provider returns to: the server put the problem into the document. */
const signInElsewhere = createRoute({
  getParentRoute: () => root,
  path: "/sign-in/oidc/$",
  component: lazyRouteComponent(() => import("@/features/welcome/sign-in-page"), "SignInPage"),
});
const invitation = createRoute({
  getParentRoute: () => root,
  path: "/invitation",
  component: lazyRouteComponent(() => import("@/features/welcome/invitation-page"), "InvitationPage"),
});

/** Pages for signed-in users. */
const inside = createRoute({ getParentRoute: () => root, id: "inside", component: SignedIn });

/** The pages on which agents and tools are made and changed. */
const building = createRoute({
  getParentRoute: () => inside,
  id: "building",
  component: () => (
    <Needs permission="build">
      <Outlet />
    </Needs>
  ),
});

const setUp = createRoute({
  getParentRoute: () => inside,
  path: "/set-up",
  component: lazyRouteComponent(() => import("@/features/welcome/set-up-page"), "SetUpPage"),
});
const confirmed = createRoute({
  getParentRoute: () => root,
  path: "/confirmed",
  component: lazyRouteComponent(() => import("@/features/welcome/confirmed-page"), "ConfirmedPage"),
});
const home = createRoute({
  getParentRoute: () => inside,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/chat", replace: true });
  },
});
const newChat = createRoute({
  getParentRoute: () => inside,
  path: "/chat",
  validateSearch: (search: Record<string, unknown>): { agent?: string } =>
    typeof search.agent === "string" ? { agent: search.agent } : {},
  component: lazyRouteComponent(() => import("@/features/chat/new-chat-page"), "NewChatPage"),
});
const chat = createRoute({
  getParentRoute: () => inside,
  path: "/chat/$sessionId",
  component: lazyRouteComponent(() => import("@/features/chat/chat-page"), "ChatPage"),
});
const runs = createRoute({
  getParentRoute: () => inside,
  path: "/runs",
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string | undefined>,
  component: lazyRouteComponent(() => import("@/features/runs/runs-page"), "RunsPage"),
});
const run = createRoute({
  getParentRoute: () => inside,
  path: "/runs/$runId",
  component: lazyRouteComponent(() => import("@/features/runs/run-page"), "RunPage"),
});
const memories = createRoute({
  getParentRoute: () => inside,
  path: "/memories",
  validateSearch: (search: Record<string, unknown>) => search as Record<string, string | undefined>,
  component: lazyRouteComponent(() => import("@/features/memories/memories-page"), "MemoriesPage"),
});
const agents = createRoute({
  getParentRoute: () => inside,
  path: "/agents",
  component: lazyRouteComponent(() => import("@/features/agents/agents-page"), "AgentsPage"),
});
const newAgent = createRoute({
  getParentRoute: () => building,
  path: "/agents/new",
  validateSearch: ({ copy, provider }: Record<string, unknown>): { copy?: string; provider?: string } => ({
    ...(typeof copy === "string" ? { copy } : {}),
    ...(typeof provider === "string" ? { provider } : {}),
  }),
  component: lazyRouteComponent(() => import("@/features/agents/agent-page"), "NewAgentPage"),
});
const agent = createRoute({
  getParentRoute: () => inside,
  path: "/agents/$agentId",
  component: lazyRouteComponent(() => import("@/features/agents/agent-page"), "AgentPage"),
});
const tools = createRoute({
  getParentRoute: () => building,
  path: "/tools",
  component: lazyRouteComponent(() => import("@/features/tools/tools-page"), "ToolsPage"),
});
const newTool = createRoute({
  getParentRoute: () => building,
  path: "/tools/new",
  component: lazyRouteComponent(() => import("@/features/tools/tool-page"), "NewToolPage"),
});
const tool = createRoute({
  getParentRoute: () => building,
  path: "/tools/$toolId",
  component: lazyRouteComponent(() => import("@/features/tools/tool-page"), "ToolPage"),
});
const settings = createRoute({
  getParentRoute: () => inside,
  path: "/settings",
  component: lazyRouteComponent(() => import("@/features/settings/settings-page"), "SettingsPage"),
});
const settingsSection = createRoute({
  getParentRoute: () => inside,
  path: "/settings/$section",
  component: lazyRouteComponent(() => import("@/features/settings/settings-page"), "SettingsPage"),
});
/** A connection that was allowed elsewhere comes back here, with what became of it. */
const mcpServer = createRoute({
  getParentRoute: () => inside,
  path: "/settings/mcp-servers/$serverId",
  validateSearch: ({
    connected,
    error,
  }: Record<string, unknown>): { connected?: boolean; error?: string } => ({
    ...(connected ? { connected: true } : {}),
    ...(typeof error === "string" ? { error } : {}),
  }),
  component: lazyRouteComponent(() => import("@/features/settings/settings-page"), "SettingsPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    signInElsewhere,
    invitation,
    confirmed,
    inside.addChildren([
      setUp,
      home,
      newChat,
      chat,
      runs,
      run,
      memories,
      agents,
      agent,
      building.addChildren([newAgent, tools, newTool, tool]),
      settings,
      settingsSection,
      mcpServer,
    ]),
  ]),
  defaultPreload: "intent",
  defaultErrorComponent: PageError,
  defaultPendingComponent: PageLoading,
  defaultNotFoundComponent: NotFound,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
