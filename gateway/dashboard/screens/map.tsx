import { shellTexts } from '#dashboard/texts/shell.ts'

export function MapScreen() {
  return (
    <div class="page">
      <h1>{shellTexts().map}</h1>
    </div>
  )
}
