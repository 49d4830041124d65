const MAX_LENGTH = 180

/**
 * A text as a part of the name of a file on any system, and in a header. The colons of a hardware id become what no
 * such id has, so that the files of two devices have two names.
 */
export function fileNameOf(text: string): string {
  return text.replaceAll(':', '=').replaceAll(/[^A-Za-z0-9._=-]+/g, '-')
}

/**
 * The header `Content-Disposition` of an answer that is saved under this name. Names are made of ids, and a head office
 * gets ids of sites and devices from others.
 */
export function attachment(name: string): string {
  return `attachment; filename="${fileNameOf(name).replace(/^\.+/, '-').slice(-MAX_LENGTH)}"`
}
