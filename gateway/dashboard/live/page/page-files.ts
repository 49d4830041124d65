/** Names of a page's files, each with the hash of its content. */
export type PageFiles = readonly string[]

/** Returns the files that the page in this document was loaded with. */
export function filesOf(document: Document): PageFiles {
  const named = document.querySelectorAll('script[src], link[rel="stylesheet"][href]')
  return [...named].map((each) => each.getAttribute('src') ?? each.getAttribute('href') ?? '')
}

/**
 * True if the page that the gateway serves now names other files than the loaded one. The gateway's version does not
 * show it, because the app may have been rebuilt; a page does not know its own ETag.
 */
export function isOtherPage(html: string, files: PageFiles): boolean {
  return html.includes('<script') && files.some((name) => !html.includes(name))
}
