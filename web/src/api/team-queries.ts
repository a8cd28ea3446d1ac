/** What the settings and the sign-in read from the server: of the team, its people and its keys. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import { WATCH_MS, WATCHED } from "./queries";

/** Whether the server calls an address; asked again until it does, as its administrator may allow it meanwhile. */
export const addressQuery = (baseUrl: string) =>
  queryOptions({
    ...WATCHED,
    refetchInterval: (query): number | false => (query.state.data?.state === "allowed" ? false : WATCH_MS),
    queryKey: ["provider-address", baseUrl],
    queryFn: () => data(api.POST("/api/providers/address", { body: { base_url: baseUrl } })),
  });

/** The caller's API keys, or all keys of the team for those who manage it. */
export const keysQuery = (everybody: boolean) =>
  queryOptions({
    queryKey: ["api-keys", { everybody }],
    queryFn: async () =>
      (await data(api.GET("/api/api-keys", { params: { query: everybody ? { all: true } : {} } }))).items,
  });

export const tenantQuery = queryOptions({
  queryKey: ["tenant"],
  queryFn: () => data(api.GET("/api/tenant")),
});

export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: async () => (await data(api.GET("/api/members"))).items,
});

export const invitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: async () => (await data(api.GET("/api/invitations"))).items,
});

export const identitiesQuery = queryOptions({
  queryKey: ["identities"],
  queryFn: async () => (await data(api.GET("/api/account/identities"))).items,
});

export const profileQuery = queryOptions({
  queryKey: ["profile"],
  queryFn: () => data(api.GET("/api/profile")),
});

export interface AuditFilter {
  action?: string;
  user?: string;
}

export const auditQuery = ({ action, user }: AuditFilter = {}) =>
  infiniteQueryOptions({
    queryKey: ["audit", { action: action ?? "", user: user ?? "" }],
    initialPageParam: "",
    queryFn: ({ pageParam }) => {
      const query = {
        limit: 50,
        ...(action ? { action } : {}),
        ...(user ? { user } : {}),
        ...(pageParam ? { after: pageParam } : {}),
      };
      return data(api.GET("/api/audit", { params: { query } }));
    },
    getNextPageParam: (page) => page.next,
  });

export const observabilityQuery = queryOptions({
  queryKey: ["observability"],
  queryFn: () => data(api.GET("/api/observability")),
});

export const signInMethodsQuery = queryOptions({
  queryKey: ["sign-in-methods"],
  queryFn: () => data(api.GET("/api/sign-in/methods")),
});
