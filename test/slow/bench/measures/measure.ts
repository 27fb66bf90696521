/** What each file beside this one exports. */
import type { Row } from "../report.ts";
import type { Stage } from "../stage.ts";

export interface Measure {
  /** The number of the line in the table, 1 to 13. */
  readonly number: number;
  readonly title: string;
  run(stage: Stage): Promise<Row[]>;
}
