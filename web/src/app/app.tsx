/** Everything that surrounds the pages: what they read, ask and tell with. */
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { createQueryClient } from "@/api/queries";
import { ReauthenticationProvider } from "@/components/reauthentication";
import { ConfirmProvider } from "@/components/ui/confirm";
import { ToastProvider } from "@/components/ui/toast";
import { router } from "./router";

const queryClient = createQueryClient();

export function App(): ReactNode {
  return (
    <QueryClientProvider client={queryClient}>
      <Tooltip.Provider delayDuration={400}>
        <ToastProvider>
          <ConfirmProvider>
            <ReauthenticationProvider>
              <RouterProvider router={router} />
            </ReauthenticationProvider>
          </ConfirmProvider>
        </ToastProvider>
      </Tooltip.Provider>
    </QueryClientProvider>
  );
}
