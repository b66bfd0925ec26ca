import { route } from "@react-router/dev/routes";

export default [route("orders/:id", "routes/orders.$id.ts")];
