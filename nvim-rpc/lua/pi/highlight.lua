-- The highlight groups, all of them links that a colour scheme may replace.

local M = {}

M.groups = {
  PiUser = 'Title',
  PiThinking = 'Comment',
  PiMeta = 'Comment',
  PiError = 'DiagnosticError',
  PiQuestion = 'DiagnosticWarn',
  PiTool = 'Function',
  PiOutput = 'Normal',
  PiOk = 'Comment',
  PiFailed = 'DiagnosticError',
  PiRunning = 'DiagnosticInfo',
  PiHeading = 'Title',
  PiBold = 'Bold',
  PiCode = 'String',
  PiListMark = 'Special',
  PiDiff = 'Normal',
  PiDiffAdd = 'DiffAdd',
  PiDiffDelete = 'DiffDelete',
  PiDiffHunk = 'PreProc',
  PiContext = 'Directory',
}

local function set()
  vim.api.nvim_set_hl(0, 'Bold', { default = true, bold = true })
  for name, link in pairs(M.groups) do
    vim.api.nvim_set_hl(0, name, { default = true, link = link })
  end
end

--- Sets the groups, now and whenever a colour scheme cleared them.
function M.setup()
  set()
  vim.api.nvim_create_autocmd('ColorScheme', {
    group = vim.api.nvim_create_augroup('PiHighlight', { clear = true }),
    callback = set,
  })
end

return M
