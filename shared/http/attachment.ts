/** What no file system, shell or header takes as a part of a name, and what ends or hides one. */
const UNCLEAN = /[^A-Za-z0-9._-]+/g
const MAX_LENGTH = 180

/**
 * The header `Content-Disposition` of an answer that is saved under this name. Names are made of ids, and a head office
 * gets ids of sites and devices from others: other characters than letters, digits, `.`, `_` and `-` become `_`.
 */
export function attachment(name: string): string {
  const clean = name.replace(UNCLEAN, '_').replace(/^\.+/, '_').slice(-MAX_LENGTH)
  return `attachment; filename="${clean}"`
}
