// Documentation that the gateway serves at /help/: `shared/help-pages` lists the pages, `help-pages` reads and renders
// them once on the first request, `markdown` converts them to HTML, and `routes` sends them.

import { HELP_PAGES, type HelpPage, helpAddress } from '#shared/help-pages.ts'
import { type Folder, programFolder } from '#shared/program-files.ts'
import type { RenderedDocument, renderMarkdown } from './markdown.ts'

/** Documentation folder of this program. */
export const DOCS = programFolder('docs')

export interface HelpPages {
  pages: ReadonlyMap<HelpPage, RenderedDocument>
  /** Pictures keyed by name below `pictures/`. */
  pictures: ReadonlyMap<string, Buffer<ArrayBuffer>>
}

const PICTURE = /^pictures\/([\w-]+\.png)$/
const DOCUMENT = /^([\w-]+)\.md(#.*)?$/

/** Reads and renders the pages that exist in a folder. */
export function readHelp(folder: Folder, render: typeof renderMarkdown): HelpPages {
  const pictures = new Map<string, Buffer<ArrayBuffer>>()
  const resolve = (href: string): string | undefined => {
    if (/^(https?:\/\/|#)/.test(href)) return href
    const [, picture] = PICTURE.exec(href) ?? []
    if (picture !== undefined) {
      const bytes = folder.read(`pictures/${picture}`)
      if (bytes !== undefined) pictures.set(picture, bytes)
      return `/help/pictures/${picture}`
    }
    const [, name, anchor = ''] = DOCUMENT.exec(href) ?? []
    // the gateway generates the same list for itself
    if (name === 'api') return `/docs`
    const page = HELP_PAGES.find((one) => one === name)
    return page === undefined ? undefined : `${helpAddress(page)}${anchor}`
  }
  const pages = HELP_PAGES.flatMap((page): [HelpPage, RenderedDocument][] => {
    const text = folder.read(`${page}.md`)?.toString()
    return text === undefined ? [] : [[page, render(text, resolve)]]
  })
  return { pages: new Map(pages), pictures }
}
