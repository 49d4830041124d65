import { describeSettings, isOpenSetting } from '#gateway/config.ts'

const HIDDEN = '(hidden)'
/** Minimum length of a hidden value; a shorter one occurs in too many other texts. */
const MIN_LENGTH = 4
const MIN_NAME_LENGTH = 3

/** Keys of cartbarn, setup and pairing codes, URLs with a user, e-mail addresses, and any text that seems random. */
const SECRET_SHAPES = [
  /\b(?:flt|cbs|cbd|cbk)_[\w-]+/g,
  /\b[A-Z0-9]{4}(?:-[A-Z0-9]{4}){1,3}\b/g,
  /\b[a-z][a-z+]*:\/\/[^\s/"'@]*@/gi,
  /[^\s@"'<>:]+@[^\s@"'<>]+/g,
  /\b\d{6,12}:[\w-]{30,}/g,
  /[\w+/=-]{32,}/g,
]

/** Returns the settings in a form that others may see. A setting that may contain any text is shown only as set. */
export function shownSettings(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const known = new Set(describeSettings().map(({ name }) => name))
  return Object.fromEntries(
    Object.entries(given)
      .filter(([name, value]) => known.has(name) && value !== undefined && value !== '')
      .map(([name, value]) => [name, isOpenSetting(name, value) ? value : HIDDEN]),
  )
}

/** Removes from texts the values of hidden settings, names of people, and any text shaped like a key. */
export class SecretFilter {
  readonly #texts: string[]

  constructor(settings: Readonly<Record<string, unknown>>, names: readonly string[]) {
    const hidden = Object.entries(settings).flatMap(([name, value]) =>
      name.startsWith('CARTBARN_') && typeof value === 'string' && !isOpenSetting(name, value) ? [value] : [],
    )
    this.#texts = [
      ...hidden.filter(({ length }) => length >= MIN_LENGTH),
      ...names.filter(({ length }) => length >= MIN_NAME_LENGTH),
      // the longest first: a shorter one may be the beginning of a longer one
    ].toSorted((a, b) => b.length - a.length)
  }

  clean(text: string): string {
    const known = this.#texts.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text)
    return SECRET_SHAPES.reduce((rest, shape) => rest.replaceAll(shape, HIDDEN), known)
  }
}
