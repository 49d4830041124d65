/** A text as a part of the name of a file on any system, and in a header; an id may have a colon. */
export function fileNameOf(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9._-]+/g, '-')
}
