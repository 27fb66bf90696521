/** Schemas that several state files share. */
import { z } from "zod";

/** An instant as zapd writes it: ISO 8601 in UTC. */
export const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/);

/** A UUID in lower case. */
export const uuid = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

export const port = z.int().min(1).max(65_535);
