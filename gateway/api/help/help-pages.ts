// The docs as the gateway serves them at /help/: `shared/help-pages` says which, `help-shelf` reads and renders them
// once, when they are first asked for, `markdown` is how, `help-page` what is around each, and `routes` sends them.

import { HELP_PAGES, type HelpPage, helpAddress } from '#shared/help-pages.ts'
import { type Folder, programFolder } from '#shared/program-files.ts'
import type { RenderedDocument, renderMarkdown } from './markdown.ts'

/** The docs of this program. */
export const DOCS = programFolder('docs')

/** All pages, and the pictures in them. */
export interface HelpPages {
  pages: ReadonlyMap<HelpPage, RenderedDocument>
  /** By their names below `pictures/`. */
  pictures: ReadonlyMap<string, Buffer<ArrayBuffer>>
}

const PICTURE = /^pictures\/([\w-]+\.png)$/
const DOCUMENT = /^([\w-]+)\.md(#.*)?$/

/** Reads and renders what there is of it in a folder. */
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
    // the same list, as the gateway has it for itself
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
