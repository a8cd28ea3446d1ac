/** The other models that the provider of a chat's agent lists, to be chosen from in a menu. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { agentsQuery, providersQuery, sessionQuery } from "@/api/queries";
import { MenuItem, MenuLabel } from "@/components/ui/menu";

interface OtherModelsProps {
  sessionId: string;
  onChoose: (model: string) => void;
}

export function OtherModels({ sessionId, onChoose }: OtherModelsProps): ReactNode {
  const session = useQuery(sessionQuery(sessionId)).data;
  const agent = useQuery(agentsQuery).data?.find(({ id }) => id === session?.agent_id);
  const providers = useQuery(providersQuery).data;
  const provider = providers?.find(({ name }) => name === agent?.model_provider);
  const others = provider?.models.filter((model) => model !== agent?.model_name) ?? [];
  if (others.length === 0) return <MenuLabel>{providers ? "No other models listed" : "Loading…"}</MenuLabel>;
  return (
    <>
      <MenuLabel>Regenerate with</MenuLabel>
      {others.map((model) => (
        <MenuItem key={model} onSelect={() => onChoose(model)}>
          <span className="font-mono text-[0.8125rem]">{model}</span>
        </MenuItem>
      ))}
    </>
  );
}
