/**
 * Control characters with line breaks of any kind, marks that change the direction of the text after them, and halves
 * of characters. Marks that only say the direction of a letter, and joiners of emoji and Persian, are text.
 */
const NOT_ON_A_LINE = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]/u

/** True if a text is one line that reads as it is written, wherever it is shown: in a terminal, a log or a mail. */
export function isOneLine(text: string): boolean {
  return !NOT_ON_A_LINE.test(text)
}

/**
 * The same as a pattern of JSON Schema, with or without the flag `u`; halves of characters cannot be left out there.
 */
export const ONE_LINE_PATTERN = String.raw`^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]*$`
