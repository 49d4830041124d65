/** The files of a page by their names, each with the hash of its content in it. */
export type PageFiles = readonly string[]

/** What the page in this document was loaded with. */
export function filesOf(document: Document): PageFiles {
  const named = document.querySelectorAll('script[src], link[rel="stylesheet"][href]')
  return [...named].map((each) => each.getAttribute('src') ?? each.getAttribute('href') ?? '')
}

/**
 * Whether the page that the gateway serves now is another than the one that was loaded: it names other files. The
 * version of the gateway does not tell, for the app may have been built anew; an ETag is not known to the page that
 * came with it.
 */
export function isOtherPage(html: string, files: PageFiles): boolean {
  return html.includes('<script') && files.some((name) => !html.includes(name))
}
