/**
 * Control characters including all line breaks, marks that change the direction of the following text, and lone
 * surrogates. Marks for the direction of one letter, and joiners of emoji and Persian, are text.
 */
const NOT_ON_A_LINE = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]/u

/** True if the text is a single line that displays as written in a terminal, a log or a mail. */
export function isOneLine(text: string): boolean {
  return !NOT_ON_A_LINE.test(text)
}

/** Equivalent pattern of JSON Schema, with or without the flag `u`; it cannot exclude lone surrogates. */
export const ONE_LINE_PATTERN =
  String.raw`^[^\u0000-\u001f\u007f-\u009f\u2028\u2029` + String.raw`\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]*$`
