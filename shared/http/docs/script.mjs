// Runs in the page of /docs: filter, copy buttons, and opening what a link points at. Without it the page is whole.
const filter = document.getElementById('filter')
const operations = [...document.querySelectorAll('.operation')]
// what errors mean is said with every operation, so it tells none from another
const texts = new Map(
  operations.map((operation) => {
    const parts = operation.querySelectorAll('summary, p:not(.answer), th, td')
    return [
      operation,
      `${operation.id} ${[...parts].map((part) => part.textContent).join(' ')}`.toLowerCase(),
    ]
  }),
)
const entries = new Map(
  [...document.querySelectorAll('[data-for]')].map((entry) => [entry.dataset.for, entry]),
)

function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
  let found = 0
  for (const operation of operations) {
    const isWanted = words.every((word) => texts.get(operation).includes(word))
    operation.hidden = !isWanted
    const entry = entries.get(operation.id)
    if (entry) entry.hidden = !isWanted
    if (isWanted) found++
  }
  for (const section of document.querySelectorAll('.operations, nav .tag')) {
    section.hidden = [...section.querySelectorAll('.operation, [data-for]')].every((one) => one.hidden)
  }
  for (const section of document.querySelectorAll('main > section:not(.operations)')) {
    section.hidden = words.length > 0
  }
  document.getElementById('nothing').hidden = found > 0
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (target === null) return
  if (target.hidden) {
    filter.value = ''
    applyFilter()
  }
  if (target instanceof HTMLDetailsElement) target.open = true
  target.scrollIntoView()
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

filter.hidden = false
filter.addEventListener('input', applyFilter)
addEventListener('keydown', (event) => {
  if (event.key === '/' && !(event.target instanceof HTMLInputElement)) {
    event.preventDefault()
    filter.focus()
  }
  if (event.key === 'Escape' && filter.value !== '') {
    filter.value = ''
    applyFilter()
  }
})
for (const button of document.querySelectorAll('.copy')) {
  button.hidden = false
  button.addEventListener('click', () => copy(button))
}
if (innerWidth < 960) document.querySelector('nav details').open = false
addEventListener('hashchange', openTarget)
if (location.hash !== '') openTarget()
