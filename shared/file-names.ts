/**
 * A text as a part of the name of a file on any system, and in a header. The colons of a hardware id become what no such id
 * has, so that the files of two devices have two names.
 */
export function fileNameOf(text: string): string {
  return text.replaceAll(':', '=').replaceAll(/[^A-Za-z0-9._=-]+/g, '-')
}
