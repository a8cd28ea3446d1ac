/** The pages begin here. */
import "@/styles.css";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/app";
import { applyTheme } from "@/lib/theme";

applyTheme();
// Parts that bring styles of their own put this on them; the server's policy lets no others in.
setNonce(document.querySelector<HTMLMetaElement>('meta[name="agio-nonce"]')?.content ?? "");

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
