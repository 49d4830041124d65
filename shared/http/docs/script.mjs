// True if a text contains every word of a query, in any order, in upper or lower case.

/** True if a text has every word of a query, in any order, in upper or lower case. */
export function fits(text, query) {
  const lowerCase = text.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lowerCase.includes(word))
}

/** Targets of the filter: each operation, and each row of a chapter. */
const ENTRIES = '.operation, .chapter tbody tr'

function textOf(entry) {
  if (entry.matches('tr')) return entry.textContent
  // every operation repeats the meaning of errors, so it does not distinguish them
  const parts = [...entry.querySelectorAll('summary, p:not(.answer), th, td')]
  return `${entry.id} ${parts.map((part) => part.textContent).join(' ')}`
}

function start() {
  const filter = document.getElementById('filter')
  const entries = [...document.querySelectorAll(ENTRIES)].map((entry) => ({ entry, text: textOf(entry) }))
  const isEmpty = (part) => [...part.querySelectorAll(ENTRIES)].every((entry) => entry.hidden)

  function applyFilter() {
    const query = filter.value.trim()
    for (const { entry, text } of entries) entry.hidden = !fits(text, query)
    for (const part of document.querySelectorAll('main > section, .chapter .table')) {
      part.hidden = query !== '' && isEmpty(part)
    }
    for (const link of document.querySelectorAll('nav a')) {
      link.parentElement.hidden = document.getElementById(link.hash.slice(1)).hidden
    }
    document.body.classList.toggle('filtered', query !== '')
    document.getElementById('nothing').hidden = entries.some(({ entry }) => !entry.hidden)
  }

  function clearFilter() {
    filter.value = ''
    applyFilter()
  }

  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (target === null) return
    if (target.closest('[hidden]') !== null) clearFilter()
    if (target instanceof HTMLDetailsElement) target.open = true
    target.scrollIntoView()
  }

  filter.hidden = false
  filter.addEventListener('input', applyFilter)
  addEventListener('keydown', (event) => {
    if (event.key === '/' && !(event.target instanceof HTMLInputElement)) {
      event.preventDefault()
      filter.focus()
    }
    if (event.key === 'Escape' && filter.value !== '') clearFilter()
  })
  for (const button of document.querySelectorAll('.copy')) {
    button.hidden = false
    button.addEventListener('click', () => copy(button))
  }
  if (innerWidth < 960) document.querySelector('nav details').open = false
  addEventListener('hashchange', openTarget)
  if (location.hash !== '') openTarget()
}

async function copy(button) {
  const text = button.parentElement.querySelector('code').textContent
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    // only pages over HTTPS may write to the clipboard directly
    const selection = getSelection()
    selection.selectAllChildren(button.parentElement.querySelector('code'))
    document.execCommand('copy')
    selection.removeAllRanges()
  }
  button.textContent = 'Copied'
  setTimeout(() => {
    button.textContent = 'Copy'
  }, 1500)
}

// tests take `fits` alone
if (globalThis.document !== undefined) start()
