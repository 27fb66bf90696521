/** The other half of the scripts. */
import { playHalf } from "./scripts.ts";

playHalf(1);
