import { formatCount, type Line, median } from './report.ts'

/** Bound of a figure. */
export type Target = readonly ['<' | '<=' | '>=' | '=', number]

/** Figure of a scenario: a line of its results and of a page in `docs/`. */
export interface Figure {
  /** Describes it; on the page it follows the summary of its scenario. */
  readonly what: string
  /** Follows the number, its space included. */
  readonly unit?: string
  readonly digits?: number
  /** Without one the figure is not judged. */
  readonly target?: Target
  /** True if the short form of the scenario is judged too, as one is whose target is `=`. */
  readonly inShort?: true
  /** Reduction of several values to one: the median unless named, or the sum if the target is `=`. */
  readonly by?: 'median' | 'most' | 'least' | 'sum'
}

/** Value of each round, or one for all; null if it could not be measured. */
export type Value = number | readonly number[] | null

/** A figure that must be 0. */
export function none(what: string): Figure {
  return { what, target: ['=', 0] }
}

const BY = {
  median,
  most: (values: readonly number[]) => Math.max(...values),
  least: (values: readonly number[]) => Math.min(...values),
  sum: (values: readonly number[]) => values.reduce((total, each) => total + each, 0),
}

/** The one number of several values; null without any. */
function reduced({ by, target }: Figure, value: Value): number | null {
  const values = value === null ? [] : [value].flat()
  return values.length === 0 ? null : BY[by ?? (target?.[0] === '=' ? 'sum' : 'median')](values)
}

/** Lines of the summary of a run. */
export function linesOf<Key extends string>(
  figures: Readonly<Record<Key, Figure>>,
  values: Readonly<Record<Key, Value>>,
  isShort: boolean,
): Line[] {
  return Object.entries<Figure>(figures).map(([key, figure]) => lineOf(figure, values[key as Key], isShort))
}

/** Line of a figure in the summary of a run. */
export function lineOf(figure: Figure, value: Value, isShort: boolean): Line {
  const { what, target, unit = '', inShort } = figure
  const isJudged = target !== undefined && (target[0] === '=' || inShort === true || !isShort)
  const number = reduced(figure, value)
  return {
    name: what,
    target: target === undefined ? '' : `${target[0]} ${target[1].toLocaleString('en-US')}${unit}`,
    reached: number === null ? 'not measured' : `${formatted(figure, number)}${unit}${spread(figure, value)}`,
    passed: isJudged && number !== null ? isMet(target, number) : null,
  }
}

function isMet([relation, limit]: Target, number: number): boolean {
  if (relation === '<') return number < limit
  if (relation === '<=') return number <= limit
  return relation === '>=' ? number >= limit : number === limit
}

function formatted({ digits = 0 }: Figure, number: number): string {
  return digits === 0 ? formatCount(number) : number.toFixed(digits)
}

/** Lowest and highest of several values. */
function spread(figure: Figure, value: Value): string {
  if (value === null || typeof value === 'number' || value.length < 2) return ''
  const [low, high] = [Math.min(...value), Math.max(...value)].map((each) => formatted(figure, each))
  return low === high ? '' : ` (${low} to ${high})`
}
