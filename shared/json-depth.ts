/** Levels of arrays and objects anybody needs; what is nested deeper is made to overflow a stack. */
const MAX_LEVELS = 32

/** Whether a parsed JSON value is nested deeper than any honest one. */
export function isNestedTooDeep(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; depth <= MAX_LEVELS; depth++) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
    if (level.length === 0) return false
  }
  return true
}
