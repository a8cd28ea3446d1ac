/** Makes an account of a sign-in elsewhere: no password is needed then. */
import { LogIn } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api, data } from "@/api/client";
import { useFresh } from "@/components/reauthentication";
import { Button } from "@/components/ui/button";
import { useToast } from "@/components/ui/toast";
import type { SignInProvider } from "@/protocol/api";

export function LinkButtons({ providers }: { providers: SignInProvider[] }): ReactNode {
  const toast = useToast();
  const fresh = useFresh();
  const [leaving, setLeaving] = useState(false);
  const link = async (provider: string) => {
    setLeaving(true);
    try {
      const { url } = await fresh(() =>
        data(
          api.POST("/api/account/identities/{provider}", {
            params: { path: { provider }, query: { return_to: "/set-up" } },
          }),
        ),
      );
      location.assign(url);
    } catch (thrown) {
      toast.failed(thrown);
      setLeaving(false);
    }
  };
  return (
    <div className="flex flex-col gap-2">
      {providers.map(({ id, name }) => (
        <Button key={id} disabled={leaving} onClick={() => void link(id)}>
          <LogIn className="size-4" aria-hidden />
          Use {name}
        </Button>
      ))}
    </div>
  );
}
