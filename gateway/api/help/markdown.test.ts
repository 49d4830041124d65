import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderMarkdown } from './markdown.ts'

const render = (markdown: string) => renderMarkdown(markdown, (href) => (href === 'there' ? '/here' : undefined))

test('headings get the same ids as on GitHub, each a unique one', () => {
  const { title, anchors, html } = render('# A `code` & *more*\n\n## When, exactly?\n\n## When exactly\n\n## Süd_1\n')
  assert.deepEqual(anchors, ['a-code--more', 'when-exactly', 'when-exactly-1', 'süd_1'])
  assert.equal(title, 'A code & more')
  assert.match(html, /<h2 id="when-exactly-1">When exactly<\/h2>/)
})

test('links and pictures lead to the given targets, and unresolved ones become text', () => {
  const { html } = render('[a *b*](there) [gone](elsewhere.md) ![pic](there) ![no "pic"](elsewhere.png)')
  assert.match(html, /<a href="\/here">a <em>b<\/em><\/a> gone /)
  assert.match(html, /<img src="\/here" alt="pic" loading="lazy">/)
  assert.doesNotMatch(html, /elsewhere/)
})

for (const [what, markdown] of [
  ['a script', '<script>alert(1)</script>'],
  ['an element in a line', 'a <img src=x onerror=alert(1)> b'],
  ['an element in a heading', '# <b onclick=x>y</b>'],
  ['an element in a table', '| <i>a</i> |\n|---|\n| <i>b</i> |'],
  ['an element in the words of a link', '[<i>x</i>](there)'],
  ['a link to a script', '[x](javascript:alert(1)) <javascript:alert(1)>'],
  ['an element in code', '`<i>` \n\n```\n<i>\n```'],
  ['an element in the words of a picture', '![<i>"](there)'],
] as const)
  test(`${what} is rendered as text`, () => {
    const { html } = render(markdown)
    assert.doesNotMatch(html, /<(script|i|b|img src=x)[ >]|href="javascript/)
    assert.match(html, /&lt;|javascript|x/)
  })

test('a table scrolls on its own and keeps the content of its cells', () => {
  const { html } = render('| a | b |\n|---|--:|\n| `x` | [y](there) |')
  assert.match(html, /<div class="table" tabindex="0"><table><thead><tr><th>a<\/th><th>b<\/th><\/tr>/)
  assert.match(html, /<td><code>x<\/code><\/td><td><a href="\/here">y<\/a><\/td>/)
})
