const MAX_LENGTH = 180

/**
 * Makes a text safe for file names on any system and for a header. The colons of a hardware id become a character that
 * no hardware id contains, so that the files of two devices never share a name.
 */
export function fileNameOf(text: string): string {
  return text.replaceAll(':', '=').replaceAll(/[^A-Za-z0-9._=-]+/g, '-')
}

/** Header `Content-Disposition` of a download. The name is escaped, as a hub receives the ids in it from others. */
export function attachment(name: string): string {
  return `attachment; filename="${fileNameOf(name).replace(/^\.+/, '-').slice(-MAX_LENGTH)}"`
}
